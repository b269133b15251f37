package cli

// rows are pairs of a word and a value.
type rows [][]string

// add adds a row unless its value is empty.
func (r *rows) add(word, value string) {
	if value != "" {
		*r = append(*r, []string{word, value})
	}
}

func (r rows) print(con *console) error {
	out := con.table(nil)
	for _, row := range r {
		if err := out.add(row...); err != nil {
			return err
		}
	}
	return out.end()
}
