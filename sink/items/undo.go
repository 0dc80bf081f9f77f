package items

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/sink"
)

// Restore implements sink.Sink: it undoes the job's later results, in one transaction.
func (t *Table[T]) Restore(ctx context.Context, offset int64) error {
	if t.closed {
		return sink.ErrClosed
	}
	var beyond error
	err := t.transaction(ctx, func(ctx context.Context, tx *sql.Tx) error {
		last, err := t.number(ctx, tx)
		if err != nil {
			return err
		}
		if offset < 0 || offset > last {
			beyond = fmt.Errorf("the job %s has %d results, but %d were committed: another program changed the table", t.job, last, offset)
			return beyond
		}
		for n := last; n > offset; n-- {
			if err := t.undoOne(ctx, tx, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		t.last, t.pending, t.err = offset, nil, nil
		return nil
	}
	err = fmt.Errorf("items: table %s: %w", t.name, err)
	if beyond == nil {
		t.err = err
	}
	return err
}

// undoOne undoes the n-th result of the job. If no later result has the same key, the row of the key gets its previous state back.
// Otherwise the entry of the next result with this key in NAME_undo gets that state.
func (t *Table[T]) undoOne(ctx context.Context, tx *sql.Tx, n int64) error {
	var seq int64
	var key string
	var before sql.NullString
	row := tx.QueryRowContext(ctx, fmt.Sprintf("SELECT seq, key, before FROM %s WHERE job = %s AND n = %s", t.undo(), t.mark(1), t.mark(2)), t.job, n)
	if err := row.Scan(&seq, &key, &before); errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("the result %d of the job %s was deleted from %s: it cannot be undone", n, t.job, t.undo())
	} else if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("DELETE FROM %s WHERE seq = %s", t.undo(), t.mark(1)), seq); err != nil {
		return err
	}
	var next int64
	err := tx.QueryRowContext(ctx, fmt.Sprintf("SELECT seq FROM %s WHERE key = %s AND seq > %s ORDER BY seq LIMIT 1", t.undo(), t.mark(1), t.mark(2)), key, seq).Scan(&next)
	switch {
	case err == nil:
		_, err = tx.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET before = %s WHERE seq = %s", t.undo(), t.mark(1), t.mark(2)), before, next)
		return err
	case !errors.Is(err, sql.ErrNoRows):
		return err
	case before.Valid:
		var item T
		if err := json.Unmarshal([]byte(before.String), &item); err != nil {
			return err
		}
		r, err := t.row(&item)
		if err != nil {
			return err
		}
		return t.upsert(ctx, tx, r.values)
	}
	values, err := keyValues(key)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM "+quote(t.name)+" WHERE "+t.where(1), values...)
	return err
}

// keyValues returns the values of a key, which are texts and whole numbers.
func keyValues(key string) (values []any, err error) {
	d := json.NewDecoder(strings.NewReader(key))
	d.UseNumber()
	err = d.Decode(&values)
	for i := range values {
		if n, ok := values[i].(json.Number); ok && err == nil {
			values[i], err = n.Int64()
		}
	}
	return values, err
}
