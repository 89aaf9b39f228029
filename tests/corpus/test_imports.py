from __future__ import annotations

import subprocess
import sys


def test_importing_the_package_is_cheap():
    code = (
        "import sys, spinney.corpus; "
        "heavy = {'scipy', 'sklearn', 'numba', 'rich', 'zstandard', 'pydoc_data.topics'} & set(sys.modules); "
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
