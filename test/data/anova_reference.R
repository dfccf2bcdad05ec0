# Writes anova_fits.csv: tests of type II, which the test anova compares gpu_anova with, by R's car.
#
#      Rscript test/data/anova_reference.R > test/data/anova_fits.csv
#
# Robust covariances are HC3, car's hccm.

suppressPackageStartupMessages(library(car))
cat("model,position,statistic,df1,df2,p_value\n")
number <- function(x) ifelse(is.finite(x), sprintf("%.17g", x), "")
show <- function(model, table, df2) {
	table <- as.data.frame(table)
	statistic <- intersect(c("F value", "F", "Chisq"), names(table))[1]
	p <- grep("^Pr", names(table), value = TRUE)
	table <- table[rownames(table) != "Residuals", ]
	for (i in seq_len(nrow(table)))
		cat(sprintf('"%s",%d,%s\n', model, i,
					paste(number(c(table[i, statistic], table[i, "Df"], df2, table[i, p])), collapse = ",")))
}
linear <- function(model, m, ...) show(model, Anova(m, type = 2, ...), df.residual(m))
mtcars$cyl <- as.character(mtcars$cyl)
mtcars$gear <- as.character(mtcars$gear)
linear("plain", lm(mpg ~ wt + hp + qsec, mtcars))
linear("factors", lm(mpg ~ wt + cyl + gear, mtcars))
linear("interactions", lm(mpg ~ wt * cyl + gear * hp, mtcars))
linear("three", lm(mpg ~ (wt + cyl + hp)^3, mtcars))
linear("aliased", lm(mpg ~ cyl * gear, mtcars))
linear("square", lm(mpg ~ poly(hp, 2, raw = TRUE) + cyl, mtcars))
linear("HC3", lm(mpg ~ wt * cyl + hp, mtcars), vcov. = hccm(lm(mpg ~ wt * cyl + hp, mtcars), "hc3"))
diamonds <- read.csv(gzfile("test/data/diamonds.csv.gz"))
linear("diamonds", lm(price ~ carat * cut + color, diamonds))
m <- glm(carb ~ wt * cyl, poisson, mtcars, control = glm.control(epsilon = 1e-15, maxit = 100))
m <- glm(carb ~ wt * cyl, poisson, mtcars, control = glm.control(epsilon = 1e-15), start = coef(m))
show("poisson", Anova(m, type = 2, test.statistic = "Wald"), NA)
