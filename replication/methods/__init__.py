"""Methods of the five works that only their studies use: no command or option of Spinney reaches them.

Each is complete and tested (``tests/replication``), and the work's page in ``docs/research`` names it. Scripts of
this folder import them as ``methods.NAME``.
"""
