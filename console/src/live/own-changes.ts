/** Limit of remembered changes: the events of a change arrive soon after its response. */
const MAX_CHANGES = 100;

/** When the last changes of this tab were answered, by request id. */
const answered = new Map<string, number>();

/** Remembers the response to a change. The console requests the changed data after this response. */
export const noteOwnChange = (init: RequestInit | undefined, { headers }: Response): void => {
  const id = headers.get('x-request-id');
  if (init?.method !== 'POST' || id === null) return;
  answered.set(id, Date.now());
  for (const oldest of answered.keys()) {
    if (answered.size <= MAX_CHANGES) return;
    answered.delete(oldest);
  }
};

/** When the change of this request was answered; undefined for changes of others. */
export const ownChangeAt = (requestId: string | null): number | undefined =>
  requestId === null ? undefined : answered.get(requestId);
