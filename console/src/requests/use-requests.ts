import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { type Inputs, type Outputs, steward, trpc } from '../api.ts';
import { nameOf } from '../components/name-of.ts';
import { notify } from '../components/toasts.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';

export type AccessRequest = Outputs['requests']['list'][number];

/** The app, client or person of the listed requests; empty: all requests. */
export type Subject = Pick<Exclude<Inputs['requests']['list'], void>, 'app' | 'client' | 'email'>;

const PAGE_SIZE = 20;

/** Requests without a decision yet, newest first. */
export const usePendingRequests = (subject: Subject) =>
  useInfiniteQuery(
    trpc.requests.list.infiniteQueryOptions(
      { ...subject, status: 'pending', limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );

/** For how long people may ask. */
export const DURATIONS: readonly { label: string; days: number | null }[] = [
  { label: 'No end', days: null },
  { label: '2 weeks', days: 14 },
  { label: 'A month', days: 30 },
  { label: '3 months', days: 90 },
  { label: 'A year', days: 365 },
];

/** The duration that people ask for, in the words of the choice: `for 2 weeks`. */
export const daysText = (days: number | null): string => {
  if (days === null) return 'without an end';
  const chosen = DURATIONS.find((duration) => duration.days === days)?.label.toLowerCase();
  return `for ${chosen ?? (days === 1 ? 'a day' : `${days} days`)}`;
};

/** `Churn for Ada Lovelace` */
export const requestName = (request: AccessRequest): string => `${request.app_label} for ${nameOf(request)}`;

/** Asks for an app, or withdraws such a request. */
export const useOwnRequests = (onDone: () => void = () => {}) => {
  const queryClient = useQueryClient();
  const options = {
    onSuccess: onDone,
    onSettled: () => queryClient.invalidateQueries(trpc.requests.pathFilter()),
  };
  return {
    ask: useMutation(trpc.requests.create.mutationOptions(options)),
    withdraw: useMutation(trpc.requests.withdraw.mutationOptions(options)),
  };
};

/** `expires_at`: undefined means for as long as the person asked. */
export type Decision = { request: AccessRequest; reason?: string } & (
  | { kind: 'approve'; expires_at?: Date | null }
  | { kind: 'deny' }
);

/** Approves or denies. Reads the lists again even if someone else has decided before. */
export const useDecide = (options: { onSuccess: () => void; onError: (error: unknown) => void }) => {
  const refresh = useAccessRefresh();
  return useMutation({
    mutationFn: ({ request: { id, version }, kind, ...terms }: Decision) =>
      steward.api.requests[kind].mutate({ id, version, ...terms }),
    onSuccess: (_decided, { kind, request }) => {
      const message = `${kind === 'approve' ? 'Approved' : 'Denied'}: ${requestName(request)}.`;
      notify(message);
      options.onSuccess();
    },
    onError: options.onError,
    onSettled: refresh,
  });
};
