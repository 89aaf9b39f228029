"""``spinney TASK init-config``: configuration files for ``fit --config``."""

from __future__ import annotations

from collections.abc import Iterator

from spinney.cli.running import begin, print_json
from spinney.cli.verbs import Call, Verb
from spinney.settings import REQUIRED, settings_of, toml_lines


def init_config(call: Call) -> int:
    """Write all settings of a method with their defaults and their help, or the settings of a model."""
    begin(call)
    from spinney.cli.tasks import TASKS
    from spinney.corpus import writing

    path, output = call.output["from"], call.output["output"]
    if path is None:
        text = "\n".join(_defaults(TASKS[call.verb.uses].verbs["fit"], call.output.get("method"))) + "\n"
    else:
        from spinney.kinds import load_task

        text = load_task(path, call.verb.uses).config()
    if call.json:
        print_json({"config": text})
        return 0
    with writing(output) as file:
        file.write(text)
    return 0


def _defaults(fit: Verb, method: str | None) -> Iterator[str]:
    yield from (f"# {argument.name} =  # {argument.help}" for argument in fit.arguments)
    yield from (f"# {setting.name} =  # {setting.help}" for setting in fit.output)
    cls = fit.settings_for(method)
    values = {s.name: None if s.default is REQUIRED else s.default for s in settings_of(cls)}
    yield from toml_lines(values | ({"method": method} if method else {}), cls)
