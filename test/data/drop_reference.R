# Writes drop_fits.csv: values of R's drop1 and step, which the test drop compares gpu_drop1 and gpu_step with.
#
#      Rscript test/data/drop_reference.R > test/data/drop_fits.csv

cat("model,kind,position,df,rss,criterion,statistic,p_value\n")
number <- function(x) ifelse(is.finite(x), sprintf("%.17g", x), "")
row <- function(model, kind, i, ...)
	cat(sprintf('"%s",%s,%d,%s\n', model, kind, i, paste(number(c(...)), collapse = ",")))
show <- function(model, m) {
	d <- drop1(m, test = "F")
	for (i in seq_len(nrow(d)))
		row(model, "drop1", i, if (i == 1) 0 else d$Df[i], d$RSS[i], d$AIC[i], d[i, "F value"], d[i, "Pr(>F)"])
	for (kind in c("aic", "bic")) {
		s <- step(m, k = if (kind == "aic") 2 else log(nobs(m)), direction = "backward", trace = 0)$anova
		for (i in seq_len(nrow(s)))
			row(model, kind, i, s[i, "Resid. Df"], s[i, "Resid. Dev"], s$AIC[i], NA, NA)
	}
}
mtcars$cyl <- as.character(mtcars$cyl)
mtcars$gear <- as.character(mtcars$gear)
show("plain", lm(mpg ~ cyl + disp + hp + drat + wt + qsec + gear + carb, mtcars))
show("interactions", lm(mpg ~ wt * cyl + hp * gear + qsec, mtcars))
show("weights", lm(mpg ~ wt + hp + qsec + drat + gear, mtcars, weights = carb))
diamonds <- read.csv(gzfile("test/data/diamonds.csv.gz"))
show("diamonds", lm(price ~ carat + cut * color + clarity + depth + table + x + y + z, diamonds))
