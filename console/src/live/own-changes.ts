/** How many are known: events of a change come soon after its response. */
const MAX_CHANGES = 100;

/** When the last changes of this tab were answered, by the ids of their requests. */
const answered = new Map<string, number>();

/** Remembers the response to a change. What the console shows of the change was requested after it. */
export const noteOwnChange = (init: RequestInit | undefined, { headers }: Response): void => {
  const id = headers.get('x-request-id');
  if (init?.method !== 'POST' || id === null) return;
  answered.set(id, Date.now());
  for (const oldest of answered.keys()) {
    if (answered.size <= MAX_CHANGES) return;
    answered.delete(oldest);
  }
};

/** When the change of a request was answered; undefined for changes of others. */
export const ownChangeAt = (requestId: string | null): number | undefined =>
  requestId === null ? undefined : answered.get(requestId);
