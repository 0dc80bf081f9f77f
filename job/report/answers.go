package report

import (
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// answer is a question that only the researcher can answer, with the answer.
type answer struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Text     string `json:"answer"` // "" until it is filled in
}

// questions are the facts of a data sheet that a crawler cannot know, after "Datasheets for Datasets" (Gebru et al. 2021) and the Menlo
// Report (2012).
var questions = [...]answer{
	{ID: "purpose", Question: "Why was this crawled, by whom, and who paid for it?"},
	{ID: "population", Question: "Which population do the seeds stand for? Where does their list come from, and of which date is it?"},
	{ID: "draw", Question: "How were the seeds drawn from it, with which probability each, and with which seed of the draw?"},
	{ID: "vantage", Question: "From which public addresses, country and network (AS) were the requests made, and with which DNS resolver?"},
	{ID: "persons", Question: "Is there something about people in it? What was done so that it does not harm them?"},
	{ID: "objections", Question: "How could sites and people object, how many did, and what came of it?"},
	{ID: "benefit", Question: "Who bears risks and costs, who has the benefit, and why is that fair?"},
	{ID: "review", Question: "Who reviewed it (ethics board, data protection), with which decision? On which legal basis was it done?"},
	{ID: "access", Question: "Where is it kept, for how long, under which licence, and whom does one ask?"},
	{ID: "limits", Question: "What should it not be used for? Which errors in it are known?"},
}

// blank marks a missing answer.
const blank = "**TO BE FILLED IN**"

func begins(id string) string { return "<!-- answer: " + id + " -->" }

const ends = "<!-- end of answer -->"

// answersIn returns all questions, with the answers in a data sheet; nil means that there is no data sheet. It returns an error if
// answers cannot be found, because writing the data sheet again would lose them.
func answersIn(sheet []byte) ([]answer, error) {
	list := questions
	if sheet == nil {
		return list[:], nil
	}
	text := strings.ReplaceAll(string(sheet), "\r\n", "\n")
	for i := range list {
		_, rest, found := strings.Cut(text, begins(list[i].ID))
		given, _, ended := strings.Cut(rest, ends)
		if !found || !ended || strings.Contains(given, "<!-- answer: ") {
			return nil, cli.Usage("%s cannot be written again without losing answers: the lines %q and %q around the answer %q are not in it; put them back, or move the file away",
				job.SheetName, begins(list[i].ID), ends, list[i].ID)
		}
		if given = strings.TrimSpace(given); given != blank {
			list[i].Text = given
		}
	}
	return list[:], nil
}

// missing counts the questions without an answer.
func missing(all []answer) (n int) {
	for _, a := range all {
		if a.Text == "" {
			n++
		}
	}
	return n
}

// markdown returns the question with its answer or a blank.
func (a *answer) markdown() string {
	text := a.Text
	if text == "" {
		text = blank
	}
	return fmt.Sprintf("**%s**\n\n%s\n%s\n%s\n\n", a.Question, begins(a.ID), text, ends)
}
