package text

import (
	"iter"
	"sync"
)

// inOrder returns the results of work for the values of in, in their order. It calls work in the given number of goroutines. Up
// to four times as many results may wait for an earlier one. The sequence ends after an error.
func inOrder[A, B any](workers int, in iter.Seq2[A, error], work func(A) (B, error)) iter.Seq2[B, error] {
	type task struct {
		in   A
		out  B
		err  error
		done chan struct{}
	}
	return func(yield func(B, error) bool) {
		todo, order, quit := make(chan *task), make(chan *task, 4*workers), make(chan struct{})
		var all sync.WaitGroup
		defer all.Wait()
		defer close(quit)
		for range workers {
			all.Go(func() {
				for t := range todo {
					t.out, t.err = work(t.in)
					close(t.done)
				}
			})
		}
		all.Go(func() {
			defer close(order)
			defer close(todo)
			for a, err := range in {
				t := &task{in: a, err: err, done: make(chan struct{})}
				select {
				case order <- t:
				case <-quit:
					return
				}
				if err != nil {
					close(t.done)
					return
				}
				select {
				case todo <- t:
				case <-quit:
					return
				}
			}
		})
		for t := range order {
			<-t.done
			if !yield(t.out, t.err) || t.err != nil {
				return
			}
		}
	}
}
