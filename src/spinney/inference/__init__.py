"""Sum-product and max-product on chains, trees and charts: the kernels that all models share."""
