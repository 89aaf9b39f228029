"""Exact sum-product of hidden Markov chains and trees on a graphics card, through torch.

Nothing is imported here, so that importing Spinney never imports torch. The modules need NumPy and torch only
(``fused`` also Triton, which comes with torch for CUDA), and nothing else of Spinney: they run on a machine that has no
more than those.

- ``layout``: sentences become nodes by level, on the card; ``streaming`` does that for the next batch in time.
- ``plain`` and ``fused``: what happens at the nodes of one level, in torch and as Triton kernels, with equal results.
- ``messages``: the sum-product over the levels of a batch; ``engine``: over a whole text.
- ``statistics``: expected counts that stay on the card, for online EM and for scripts.
- ``precision``: in which numbers matrix products are taken.

What it costs
-------------
A token of a chain or a tree needs three products with a C × C matrix, 6 C² operations: its message up, its message
down, and its edge. Written in single precision, about 13 rows of C numbers are read or written for it, 52 C bytes; so
a card with F operations and B bytes a second makes at most 1 / (6 C² / F + 52 C / B) tokens a second, if the two do
not overlap. With 300·10¹² operations in TF32 and 4·10¹² bytes that is 500 million tokens a second at 128 classes, 84
million at 512 and 29 million at 1,024.
"""
