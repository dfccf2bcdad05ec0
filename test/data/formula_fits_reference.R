# R's fits of formulas with functions, for the test `formula_functions`: coefficients and standard errors of lm() and
# glm() over the test's table numbers_200.
#
#   Rscript test/data/formula_fits_reference.R > test/data/formula_fits.csv
#
# Needs R 4. Levels are called [a], [b], [c] here, so that R's names of terms are gpureg's.
options(digits = 17)
i <- 1:200
rows <- data.frame(y = 1 + (i * 7) %% 13, x1 = 0.25 + ((i * 5) %% 11) / 4, x2 = (i * 3) %% 7, x3 = (i %% 17) / 4,
	g = factor(paste0("[", letters[1 + i %% 3], "]")), days = 1 + i %% 5)
rows$big <- rows$y + rows$x2 > 10
fit <- function(family, text) {
	formula <- as.formula(text)
	model <- if (family == "ols") lm(formula, rows) else
		glm(formula, family = family, data = rows, control = glm.control(epsilon = 1e-15, maxit = 100))
	estimates <- summary(model)$coefficients
	names <- sub("(Intercept)", "(intercept)", rownames(estimates), fixed = TRUE)
	for (k in seq_along(names)) cat(family, ",\"", text, "\",\"", names[k], "\",",
		sprintf("%.17g", estimates[k, 1]), ",", sprintf("%.17g", estimates[k, 2]), "\n", sep = "")
}
cat("family,formula,term,estimate,std_error\n")
for (text in c("log(y) ~ log(x1) + x2 * x3", "y ~ I(x2^2) + sqrt(x1)/g", "sqrt(y) ~ (x1 + log1p(x2) + g)^2 - x1:g",
	"y/2 ~ g %in% log2(x1) + exp(-x3) + x2", "I(y^2 - x1) ~ abs(x2 - 3) * g + log10(x1 + x2)", 
	"log(y) ~ . - big - days", "y ~ expm1(x3/4) + I((x1 + x2)/(1 + x3)) + I(x3^0.5) - 1", "log(y) ~ x1 + offset(x2/10)"))
	fit("ols", text)
for (text in c("y ~ log(x1) + I(x2^2)/g + offset(log(days))", "y ~ x1 + offset(log(days)) + offset(x2/10)",
	"days ~ log1p(x2) * g"))
	fit("poisson", text)
for (text in c("big ~ log1p(x2) + exp(-x1)", "big ~ I(x1 * x2) + g + offset(x3/2)")) fit("binomial", text)
