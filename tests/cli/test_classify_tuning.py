"""``spinney classify fit --dev``: strengths chosen on held-out documents, by every search."""

import pytest

from spinney.corpus import sample_documents

TASK = "classify"


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    """Paragraphs of the sample corpus in two files, with two classes."""
    folder = tmp_path_factory.mktemp("manual")
    rows = []
    for document in sample_documents():
        if document.label in ("statements", "objects"):
            paragraphs = [" ".join(text.split()) for text in document.text.split("\n\n")]
            rows += [f"{text}\t{document.label}" for text in paragraphs[:8] if len(text) > 80]
    for name, part in (("train.tsv", rows[::2]), ("dev.tsv", rows[1::2])):
        (folder / name).write_text("\n".join(["text\tlabel", *part]) + "\n")
    return folder


@pytest.fixture
def fit(facts, manual, tmp_path):
    def call(*arguments):
        how = ["--min-count", 2, "--features", "counts", "--tol", 1e-4]
        return facts("fit", manual / "train.tsv", "--model", tmp_path / "m.spinney", *how, *arguments)

    return call


def test_a_grid_on_a_file(fit, facts, manual, tmp_path):
    told = fit("--dev", manual / "dev.tsv", "--tune", "grid")
    assert told["tuning"]["search"] == "grid"
    assert told["lam"] == told["tuning"]["chosen"]["lam"]
    assert told["converged"]
    trials = told["trials"]
    best = max(trial["score"] for trial in trials)
    fewest = min(trial["active"] for trial in trials if trial["score"] == best and trial["active"])
    chosen = next(trial for trial in trials if trial["params"] == told["tuning"]["chosen"])
    assert (chosen["score"], chosen["active"]) == (best, fewest)
    scores = facts("eval", tmp_path / "m.spinney", manual / "dev.tsv")
    assert scores["accuracy"] == pytest.approx(told["tuning"]["dev_score"])
    assert scores["documents"] == told["tuning"]["dev_documents"]


def test_a_share_is_drawn_from_each_class_and_by_the_seed(fit):
    one, again = fit("--dev", 0.25), fit("--dev", 0.25)
    assert one["choice"] == again["choice"]
    everything = fit("--lam", 1)["documents"]
    assert one["documents"] + one["choice"]["dev_documents"] == everything
    other = fit("--dev", 0.25, "--seed", 1)
    assert other["documents"] == one["documents"]
    assert other["features"] != one["features"]


def test_overlapping_groups_have_three_strengths(fit):
    told = fit("--groups", "lda:3", "--dev", 0.3, "--tune", "random", "--trials", 4)
    assert set(told["tuning"]["chosen"]) == {"lam", "l1", "l2"}
    assert told["tuning"]["trials"] == 4
    told = fit("--groups", "lda:3", "--dev", 0.3, "--l1", 0.2, "--l2", 1)
    assert set(told["tuning"]["chosen"]) == {"lam"}
    assert "ℓ1 = 0.2, ℓ2 = 1" in told["penalty"]


def test_a_space_of_ones_own(fit):
    told = fit("--penalty", "elasticnet", "--dev", 0.3, "--space", "lam=0.1,1;l2=0.5")
    assert sorted(trial["params"]["lam"] for trial in told["trials"]) == [0.1, 1]
    assert told["tuning"]["chosen"]["l2"] == 0.5
    told = fit("--dev", 0.3, "--space", "lam_ratio=0.5,0.05")
    assert told["tuning"]["chosen"]["lam_ratio"] in (0.5, 0.05)
    told = fit("--dev", 0.3, "--tune", "random", "--trials", 3, "--space", "lam=0.1..10")
    assert all(0.1 <= trial["params"]["lam"] <= 10 for trial in told["trials"])


def test_optuna(fit):
    pytest.importorskip("optuna")
    told = fit("--dev", 0.3, "--tune", "optuna", "--trials", 5)
    assert told["tuning"]["trials"] == 5


def test_families_of_groups_are_chosen_too(fit, spinney, manual, tmp_path):
    choices = ["sentence", "lda:3,document", "brown:8"]
    space = f"groups={'|'.join(choices)};lam_ratio=0.3,0.1;l1=0.1"
    told = fit("--dev", 0.3, "--space", space)
    tried = [(trial["params"]["groups"], trial["params"]["lam_ratio"]) for trial in told["trials"]]
    assert sorted(tried) == sorted((name, ratio) for name in choices for ratio in (0.3, 0.1))
    chosen = told["tuning"]["chosen"]["groups"]
    best = max(told["trials"], key=lambda trial: (trial["score"], -trial["active"]))
    assert chosen == best["params"]["groups"]
    assert set(told["groups"]["families"]) == {part.partition(":")[0] for part in chosen.split(",")}
    # Alone, the chosen family gives the same model.
    alone = fit("--dev", 0.3, "--groups", chosen, "--space", "lam_ratio=0.3,0.1;l1=0.1")
    assert alone["objective"] == pytest.approx(told["objective"], rel=1e-3)
    told = fit("--dev", 0.3, "--tune", "random", "--trials", 4, "--space", "groups=sentence|lda:3")
    assert set(told["tuning"]["chosen"]) == {"groups", "lam_ratio", "l1", "l2"}
    how = ["--model", tmp_path / "m.spinney", "--dev", manual / "dev.tsv"]
    out = spinney("fit", manual / "train.tsv", *how, "--space", "groups=sentence|lda:3;lam_ratio=0.1;l1=0.1")[
        1
    ]
    assert "tuning · chosen · groups" in out


def test_families_by_optuna(fit):
    pytest.importorskip("optuna")
    told = fit(
        "--dev",
        0.3,
        "--tune",
        "optuna",
        "--trials",
        5,
        "--space",
        "groups=sentence|lda:3;lam_ratio=0.05..0.5",
    )
    assert told["tuning"]["chosen"]["groups"] in ("sentence", "lda:3")
    assert {trial["params"]["groups"] for trial in told["trials"]} <= {"sentence", "lda:3"}


def test_threads_do_not_change_the_choice(fit):
    how = ["--penalty", "elasticnet", "--dev", 0.3]
    one, two = fit(*how, "--threads", 1), fit(*how, "--threads", 2)
    assert one["choice"] == two["choice"]
    assert one["objective"] == two["objective"]
    one, two = fit(*how, "--tune", "grid", "--threads", 1), fit(*how, "--tune", "grid", "--threads", 2)
    assert one["tuning"] == two["tuning"]
    assert one["objective"] == two["objective"]


def test_a_person_sees_the_choice(spinney, manual, tmp_path):
    how = ["--model", tmp_path / "m.spinney", "--dev", manual / "dev.tsv"]
    code, out, _ = spinney("fit", manual / "train.tsv", *how)
    assert code == 0
    assert "chosen on the held-out documents among" in " ".join(out.split())
    code, out, _ = spinney("fit", manual / "train.tsv", *how, "--tune", "grid")
    assert code == 0
    assert "tuning · chosen · lam" in out
    assert "settings, the chosen one first" in out


def test_regressors(facts, tmp_path):
    table = tmp_path / "stars.csv"
    rows = [f"{'good ' * i}film,{i}" for i in range(1, 21)]
    table.write_text("\n".join(["text,label", *rows]) + "\n")
    how = ["--model", tmp_path / "m.spinney", "--regression", "--features", "counts"]
    told = facts("fit", table, *how, "--dev", 0.2)
    assert told["choice"]["dev_documents"] == 4
    assert told["choice"]["score"] > 0.9
    told = facts("fit", table, *how, "--dev", 0.2, "--tune", "grid")
    assert told["tuning"]["dev_documents"] == 4
    assert told["tuning"]["dev_score"] > 0.9


def test_scores_that_are_no_numbers_are_null(facts, tmp_path):
    table = tmp_path / "stars.csv"
    table.write_text("text,label\ngood film,3\nbad film,1\n")
    path = tmp_path / "m.spinney"
    facts("fit", table, "--model", path, "--regression")
    alone = tmp_path / "alone.csv"
    alone.write_text("text,label\ngood film,3\n")
    assert facts("eval", path, alone)["r2"] is None


def test_mistakes(refused, manual, tmp_path):
    def fails(*arguments):
        target = tmp_path / "never.spinney"
        line = refused("fit", manual / "train.tsv", "--model", target, *arguments)
        assert not target.exists()
        return line

    assert "give --dev" in fails("--tune", "grid")
    assert "give --dev" in fails("--space", "lam=1")
    assert "--tune must be grid, random or optuna" in fails("--dev", 0.2, "--tune", "guess")
    assert "--trials is only for random" in fails("--dev", 0.2, "--trials", 5)
    assert "no such file" in fails("--dev", tmp_path / "none.tsv")
    assert "between 0 and 1" in fails("--dev", 1.5)
    assert "documents: give a larger fraction" in fails("--dev", 0.0001)
    assert "--cv and --dev both choose λ" in fails("--dev", 0.2, "--cv", 3)
    assert "no strengths left to tune" in fails("--dev", 0.2, "--penalty", "none")
    assert "--lam and --dev both determine λ" in fails("--dev", 0.2, "--lam", 1)
    assert "'l3=1' must be NAME=VALUES" in fails("--dev", 0.2, "--space", "l3=1")
    assert "lam=x must be numbers" in fails("--dev", 0.2, "--space", "lam=x")
    assert "both set lam" in fails("--dev", 0.2, "--space", "lam=1", "--lam", 1)
    assert "lam is a range" in fails("--dev", 0.2, "--space", "lam=1..10")
    assert "contains lam twice" in fails("--dev", 0.2, "--space", "lam=1;lam=2")
    assert "did you mean sentence?" in fails("--dev", 0.2, "--space", "groups=lda:2|sentences")
    assert "contains groups twice" in fails("--dev", 0.2, "--space", "groups=lda:2;groups=brown")
    assert "families separated by |" in fails("--dev", 0.2, "--space", "groups=lda:2|")
    assert "chooses among groups: leave out --groups" in fails(
        "--dev", 0.2, "--space", "groups=lda:2|brown", "--groups", "sentence"
    )
    assert "--keep needs --groups parse" in fails(
        "--dev", 0.2, "--space", "groups=lda:2|brown", "--keep", "NP"
    )
    unseen = tmp_path / "unseen.tsv"
    unseen.write_text("text\tlabel\nwords\tother\n")
    assert "'other' (1 documents) was never seen" in fails("--dev", unseen)
    numbers = tmp_path / "n.svm"
    numbers.write_text("0 1:1\n1 2:1\n")
    assert "contains numbers, but the training documents are text" in fails("--dev", numbers)
