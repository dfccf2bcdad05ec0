# Prints values of the test roc, as roc_reference.py does, by R's pROC.
#
#      Rscript test/data/roc_reference.R

suppressPackageStartupMessages(library(pROC))
show <- function(what, ...) cat(sprintf("%-24s", what), sprintf("%.17g", c(...)), "\n")
curve <- function(what, label, score) {
	r <- roc(label, score, direction = "<", quiet = TRUE)
	p <- coords(r, "all", ret = c("sensitivity", "specificity"))
	show(what, nrow(p), sum(1 - p$specificity), sum(p$sensitivity), sum((1 - p$specificity) * p$sensitivity),
		 max(p$sensitivity + p$specificity - 1))
}
curve("mtcars", mtcars$am, mtcars$mpg)
diamonds <- read.csv(gzfile("test/data/diamonds.csv.gz"))
curve("diamonds", diamonds$cut == "Ideal", -diamonds$price / diamonds$carat)
