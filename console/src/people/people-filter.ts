/** The filter of the list of people, as the address states it. */
export type PeopleFilter = {
  search?: string | undefined;
  is_active?: boolean | undefined;
  /** Slug of an app. */
  app?: string | undefined;
};

/** Reads the filter from the address. A value of another type counts as none; the service checks the rest. */
export const peopleFilter = ({ search, is_active, app }: Record<string, unknown>): PeopleFilter => ({
  search: textOf(search),
  is_active: typeof is_active === 'boolean' ? is_active : undefined,
  app: textOf(app),
});

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
