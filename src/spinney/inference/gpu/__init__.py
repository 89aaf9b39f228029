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
A token of a chain needs three products with a C × C matrix, 6 C² operations: its message up, its message down, and
its edge. (Trees in TF32 need 8 C²: see ``messages.sum_product``.) Its two rows of C numbers, u and v, are written once;
u is read for the posterior, and both are read for the edge: 5 rows, or 20 C bytes in single precision, if all else
stays in the card's cache. So a card with F operations and B bytes a second passes at most 1 / max(6 C² / F, 20 C / B)
tokens a second. With the F and B that ``benchmarks/gpu.py`` measured on an H200 for each size (in TF32 110, 226, 324
and 311·10¹² operations, and 4.1·10¹² bytes) that is 1,119 million tokens at 128 classes, 144 million at 512, 52
million at 1,024 and 12 million at 2,048.

The same reckoning for two other models. Forward-backward of a CRF with L labels spends some 4 L² operations on a token:
10,000 with 50 labels, which a processor core does in about 5 microseconds. The sparse product with the features and the
solver take longer, and stay where they are. It would pay from a few hundred labels on, and taggers have fewer.
Inside-outside over all spans of n words with G binary rules costs about n³ G operations: 1.6·10⁸ for 25 words and
10,000 rules, so a dense chart would pay. But ``parse fit`` learns from trees with known labels, where nothing is summed
over spans, and ``apply`` first drops nearly all items of a chart: what is left is small and irregular. So neither is
here.
"""
