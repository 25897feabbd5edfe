import type { Query, QueryClient } from '@tanstack/react-query';
import type { Outputs } from '../api.ts';
import { ownChangeAt } from './own-changes.ts';
import { PACES_MS, READ_ONCE, REFRESHABLE, type Refreshed, refreshedBy } from './what-changes.ts';

/** The browser's tab, and the queries that it shows. */
type Tab = { queryClient: QueryClient; isHidden: () => boolean };

/** The fields of an event that are used here. */
export type Heard = Pick<Outputs['events']['list'][number], 'type' | 'request_id'>;

const PACE_MS = 1_000;
const RETRY_MS = 100;

export const keyOfHeard = ({ type, request_id: id }: Heard): string => `${type} ${id}`;

/**
 * Refetches visible queries after events have made them stale; other queries are refetched when they are shown. Each noun at most once a
 * second, counted from the end of its last refetch, and only while the tab is visible. For changes of this tab, the form refetches, so only
 * data that was read before the response is stale.
 */
export const createRefresher = ({ queryClient, isHidden }: Tab) => {
  const heard = new Map<string, Heard>();
  /** By noun, the time before which read data is stale. */
  const due = new Map<Refreshed, number>();
  const freeAt = new Map<Refreshed, number>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const markStale = (noun: Refreshed, before: number): void =>
    void due.set(noun, Math.max(due.get(noun) ?? 0, before));

  const markHeard = (): void => {
    for (const { type, request_id: id } of heard.values()) {
      const before = ownChangeAt(id) ?? Number.POSITIVE_INFINITY;
      // A newer service may send further types.
      for (const noun of refreshedBy(type)) markStale(noun, before);
      markStale('audit', before);
    }
    heard.clear();
  };

  const refresh = async (noun: Refreshed, before: number): Promise<void> => {
    const queryKey = [noun.split('.')];
    const predicate = (query: Query): boolean => query.state.dataUpdatedAt < before && !isReadOnce(query);
    const startedAt = Date.now();
    await queryClient.invalidateQueries({ queryKey, predicate }, { cancelRefetch: false });
    freeAt.set(noun, Date.now() + (PACES_MS[noun] ?? PACE_MS));
    // Loading the next page of a list cancels its refetch.
    const isCut = ({ state }: Query): boolean =>
      Math.max(state.dataUpdatedAt, state.errorUpdatedAt) < startedAt;
    const shown = queryClient.getQueryCache().findAll({ queryKey, predicate, type: 'active' });
    if (shown.some(isCut)) markStale(noun, before);
    workIn(0);
  };

  const work = (): void => {
    if (isHidden()) return;
    // Waits for the response to a running change: the response says which events belong to the change.
    if (queryClient.isMutating() > 0) {
      workIn(RETRY_MS);
      return;
    }
    markHeard();
    let next = Number.POSITIVE_INFINITY;
    for (const [noun, before] of due) {
      const isBusy = queryClient.isFetching({ queryKey: [noun.split('.')] }) > 0;
      const waitMs = Math.max((freeAt.get(noun) ?? 0) - Date.now(), isBusy ? RETRY_MS : 0);
      if (waitMs > 0) next = Math.min(next, waitMs);
      else {
        due.delete(noun);
        void refresh(noun, before);
      }
    }
    if (next < Number.POSITIVE_INFINITY) workIn(next);
  };

  const workIn = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };

  return {
    hear: (events: Iterable<Heard>): void => {
      for (const event of events) heard.set(keyOfHeard(event), event);
      workIn(0);
    },
    /** Refreshes all queries that events can make stale. */
    hearAll: (): void => {
      for (const noun of REFRESHABLE) markStale(noun, Number.POSITIVE_INFINITY);
      workIn(0);
    },
    /** Continues when the tab is visible again. */
    resume: (): void => workIn(0),
    close: (): void => clearTimeout(timer),
  };
};

const isReadOnce = ({ queryKey: [path] }: Query): boolean =>
  Array.isArray(path) && READ_ONCE.some((procedure) => procedure === path.join('.'));
