package bulk

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestGateBoundsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2)
		first, err := g.enter(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		second, err := g.enter(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("late"))
		defer cancel()
		if _, err := g.enter(ctx); err == nil || err.Error() != "late" {
			t.Errorf("a third entered: %v", err)
		}
		// Those who wait are let in, in their order.
		var order []int
		var mu sync.Mutex
		var wait sync.WaitGroup
		for i := range 3 {
			wait.Go(func() {
				e, err := g.enter(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				g.leave(e, 1)
			})
			synctest.Wait()
		}
		g.leave(first, 1)
		time.Sleep(100 * time.Millisecond)
		g.leave(second, 1)
		wait.Wait()
		if len(order) != 3 || order[0] != 0 || order[1] != 1 || order[2] != 2 {
			t.Errorf("order %v", order)
		}
		if g.pending() != 0 {
			t.Errorf("%d are held", g.pending())
		}
	})
}

func TestGateEpochs(t *testing.T) {
	g := newGate(10)
	ctx := context.Background()
	a, _ := g.enter(ctx)
	first := g.turn()
	b, _ := g.enter(ctx)
	second := g.turn()
	if len(first) != 1 || len(second) != 2 {
		t.Fatalf("%d and %d epochs, want 1 and 2", len(first), len(second))
	}
	isOver := func(e *epoch) bool {
		select {
		case <-e.over:
			return true
		default:
			return false
		}
	}
	g.leave(b, 1)
	if isOver(a) || !isOver(b) {
		t.Error("the second epoch should be over, and it alone")
	}
	g.leave(a, 1)
	if !isOver(a) {
		t.Error("the first epoch should be over")
	}
	if rest := g.turn(); len(rest) != 0 {
		t.Errorf("%d epochs are left", len(rest))
	}
}

func TestGateClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1)
		e, _ := g.enter(context.Background())
		waiting := make(chan error)
		go func() {
			_, err := g.enter(context.Background())
			waiting <- err
		}()
		synctest.Wait()
		g.close()
		if err := <-waiting; !errors.Is(err, ErrClosed) {
			t.Errorf("the one who waited: %v, want ErrClosed", err)
		}
		if _, err := g.enter(context.Background()); !errors.Is(err, ErrClosed) {
			t.Errorf("after close: %v, want ErrClosed", err)
		}
		g.leave(e, 1)
	})
}
