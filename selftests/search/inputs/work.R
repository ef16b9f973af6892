# SPDX-License-Identifier: GPL-2.0
set.seed(7)
x <- matrix(rnorm(40000), 200)
print(round(sum(svd(x)$d), 6))
model <- lm(mpg ~ wt + hp, mtcars)
print(round(coef(model), 6))
f <- parallel::mclapply(1:8, function(n) sum(sort(rnorm(1000 * n)) > 0) > 0, mc.cores = 4)
print(unlist(f))
print(nchar(paste(capture.output(summary(iris)), collapse = "")))
