# Writes means_fits.csv: means of factors' levels and their differences, which the test means compares gpu_means with,
# by R's emmeans.
#
#      Rscript test/data/means_reference.R > test/data/means_fits.csv
#
# emmeans computes Tukey's probabilities by ptukey, which has about nine digits.

suppressPackageStartupMessages(library(emmeans))
emm_options(opt.digits = FALSE)
cat("model,kind,level,estimate,std_error,df,p_value,conf_low,conf_high\n")
number <- function(x) ifelse(is.finite(x), sprintf("%.17g", x), ifelse(is.na(x), "", "Infinity"))
write <- function(model, kind, table) {
	t <- as.data.frame(summary(table, infer = c(TRUE, TRUE), adjust = if (kind == "mean") "none" else kind))
	values <- t[, (ncol(t) - 6):ncol(t)]
	for (i in seq_len(nrow(t)))
		cat(sprintf('"%s",%s,"%s",%s\n', model, kind, gsub("cyl|cut", "", t[i, 1]),
					paste(number(unlist(values[i, c(1, 2, 3, 7, 4, 5)])), collapse = ",")))
}
show <- function(model, m, factor, kinds, ...) {
	means <- emmeans(m, factor, ...)
	write(model, "mean", means)
	for (kind in kinds)
		write(model, kind, pairs(means, adjust = kind))
}
to_the_end <- glm.control(epsilon = 1e-15, maxit = 100)
mtcars$cyl <- as.character(mtcars$cyl)
mtcars$gear <- as.character(mtcars$gear)
all <- c("tukey", "bonferroni", "holm", "none")
show("linear", lm(mpg ~ wt + cyl, mtcars), "cyl", all)
show("two factors", lm(mpg ~ wt + cyl + gear, mtcars), "cyl", all)
show("interaction", lm(mpg ~ wt * cyl + gear, mtcars), "cyl", "tukey")
show("square", lm(mpg ~ wt + I(wt^2) + cyl, mtcars), "cyl", "tukey")
show("no intercept", lm(mpg ~ cyl + wt - 1, mtcars), "cyl", "tukey")
# the covariances are those of the step before the last one, so that the fit begins anew at its end
m <- glm(carb ~ wt + cyl, poisson, mtcars, control = to_the_end)
m <- glm(carb ~ wt + cyl, poisson, mtcars, control = to_the_end, start = coef(m))
show("poisson", m, "cyl", all)
m <- lm(mpg ~ wt + cyl, mtcars)
x <- model.matrix(m)
bread <- solve(crossprod(x))
show("HC0", m, "cyl", all, vcov. = bread %*% crossprod(x * residuals(m)) %*% bread)
diamonds <- read.csv(gzfile("test/data/diamonds.csv.gz"))
show("diamonds", lm(price ~ carat + cut + color, diamonds), "cut", all)
