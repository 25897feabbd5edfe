import { idOf, oneOf } from '../components/search-params.ts';

export const IDLE_KINDS = ['people', 'apps'] as const;
export const IDLE_DAYS = [30, 90, 180, 365] as const;

/** After how many days without use they count as idle. Home uses the same number: `attention.get` counts them. */
export const DAYS_OF = { people: 90, apps: 30 } as const satisfies Record<
  (typeof IDLE_KINDS)[number],
  number
>;

/** The listed items, from the address. */
export type IdleFilter = {
  kind?: (typeof IDLE_KINDS)[number] | undefined;
  days?: number | undefined;
  client?: number | undefined;
};

/** Reads the filter from the address. A value of another type counts as none; the service checks the rest. */
export const idleFilter = ({ kind, days, client }: Record<string, unknown>): IdleFilter => ({
  kind: oneOf(kind, IDLE_KINDS),
  days: idOf(days),
  client: idOf(client),
});

/** What to do about an empty list; empty if no shorter time can be chosen. */
export const hintFor = (days: number, kind: (typeof IDLE_KINDS)[number]): string =>
  days > IDLE_DAYS[0]
    ? `Choose fewer days to see more ${kind}.`
    : kind === 'apps'
      ? 'All apps are in use.'
      : 'Everyone logged in or used an app.';
