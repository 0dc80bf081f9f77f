module github.com/amble-crawler/amble/tools

go 1.26.0
