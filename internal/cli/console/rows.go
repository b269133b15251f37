package console

// Rows are pairs of a word and a value.
type Rows [][]string

// Add adds a row unless its value is empty.
func (r *Rows) Add(word, value string) {
	if value != "" {
		*r = append(*r, []string{word, value})
	}
}

// Print prints the rows as a table without a heading.
func (r Rows) Print(con *Console) error {
	out := con.Table(nil)
	for _, row := range r {
		if err := out.Add(row...); err != nil {
			return err
		}
	}
	return out.End()
}
