package cosmos

// transaction is what an atomic batch has done so far, so that it can be
// undone. It lives while its range's mutex is held.
type transaction struct {
	undo    []func()
	undoing bool
	journal int    // length of the range's journal at the start
	lsn     uint64 // of the range at the start
}

// note adds how to undo a change. Undoing is not noted.
func (t *transaction) note(undo func()) {
	if !t.undoing {
		t.undo = append(t.undo, undo)
	}
}

// begin starts a transaction. The caller holds p.mu until it has ended it.
func (p *physical) begin() {
	p.tx = &transaction{journal: p.journal.len(), lsn: p.lsn}
}

// end ends the transaction: its changes stay, or are undone from the last to
// the first and leave the journal.
func (p *physical) end(commit bool) {
	t := p.tx
	if !commit {
		t.undoing = true
		for i := len(t.undo) - 1; i >= 0; i-- {
			t.undo[i]()
		}
		p.journal.cut(t.journal)
		p.lsn = t.lsn
	}
	p.tx = nil
}
