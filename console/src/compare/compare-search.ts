import { textOf } from '../components/search-params.ts';

type CompareSearch = { one?: string | undefined; other?: string | undefined };

/** Reads the addresses of the two people from the address. */
export const compareSearch = ({ one, other }: Record<string, unknown>): CompareSearch => ({
  one: textOf(one),
  other: textOf(other),
});
