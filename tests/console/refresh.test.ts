import { mock } from 'node:test';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { noteOwnChange } from '../../console/src/live/own-changes.ts';
import { createRefresher } from '../../console/src/live/refresh.ts';

const refreshes = suite('refetching what events have made stale');

/** The list of people, shown, and how often it was read. `isHidden`: whether the tab is. */
const showPeople = async () => {
  let reads = 0;
  const queryClient = new QueryClient();
  const queryFn = async () => {
    reads += 1;
    return reads;
  };
  const people = new QueryObserver(queryClient, { queryKey: [['users', 'people'], {}], queryFn });
  const unsubscribe = people.subscribe(() => {});
  const tab = { isHidden: false };
  const refresher = createRefresher({ queryClient, isHidden: () => tab.isHidden });
  await pass(0);
  return {
    tab,
    refresher,
    people,
    reads: () => reads,
    [Symbol.dispose]: () => {
      refresher.close();
      unsubscribe();
      queryClient.clear();
    },
  };
};

/** Lets time pass, with the work that is due by then. */
const pass = async (ms: number): Promise<void> => {
  for (let left = ms; left >= 0; left -= 100) {
    mock.timers.tick(Math.min(100, left));
    await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(0);
    await new Promise((resolve) => setImmediate(resolve));
  }
};

const updated = (request_id: string) => [{ type: 'user.updated', request_id }] as const;

refreshes.before.each(() => mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 }));
refreshes.after.each(() => mock.timers.reset());

refreshes('reads a list at most once a second, however many events come', async () => {
  using shown = await showPeople();
  assert.is(shown.reads(), 1);

  for (let n = 0; n < 10; n += 1) {
    shown.refresher.hear(updated(`change-${n}`));
    await pass(50);
  }
  assert.is(shown.reads(), 2);
  await pass(1_000);
  assert.is(shown.reads(), 3);
  await pass(5_000);
  assert.is(shown.reads(), 3, 'no event has come since');
});

refreshes('does not read again what was read after a change of this tab was answered', async () => {
  using shown = await showPeople();
  await pass(100);
  noteOwnChange({ method: 'POST' }, new Response(null, { headers: { 'x-request-id': 'own' } }));
  await pass(100);
  await shown.people.refetch();
  await pass(100);

  shown.refresher.hear(updated('own'));
  await pass(3_000);
  assert.is(shown.reads(), 2);
  shown.refresher.hear(updated('of-others'));
  await pass(3_000);
  assert.is(shown.reads(), 3);
});

refreshes('waits until a hidden tab is shown', async () => {
  using shown = await showPeople();
  shown.tab.isHidden = true;
  shown.refresher.hear(updated('while-hidden'));
  await pass(3_000);
  assert.is(shown.reads(), 1);

  shown.tab.isHidden = false;
  shown.refresher.resume();
  await pass(1_000);
  assert.is(shown.reads(), 2);
});

refreshes.run();
