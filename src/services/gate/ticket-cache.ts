/** Tickets of people who make many requests; the oldest are evicted. */
const MAX_TICKETS = 5_000;

/** `exp` is in seconds, as in the ticket. */
type Cached = { ticket: string; issuedMs: number; exp: number };
type Limits = { revokedMs: number; expiresAfter: number };

/**
 * Keeps signed tickets, by their claims, for half of their lifetime: signing takes longer than the rest of a request. Whether a
 * ticket may be given out is decided before, from the database.
 */
export const createTicketCache = () => {
  const tickets = new Map<string, Cached>();
  return {
    /** A ticket with these claims that was issued after `revokedMs` and expires after `expiresAfter`, or null. */
    find: (key: string, { revokedMs, expiresAfter }: Limits): string | null => {
      const cached = tickets.get(key);
      if (cached && cached.issuedMs > revokedMs && cached.exp > expiresAfter) return cached.ticket;
      tickets.delete(key);
      return null;
    },

    keep: (key: string, cached: Cached): void => {
      tickets.set(key, cached);
      const [oldest] = tickets.size > MAX_TICKETS ? tickets.keys() : [];
      if (oldest !== undefined) tickets.delete(oldest);
    },
  };
};

export type TicketCache = ReturnType<typeof createTicketCache>;
