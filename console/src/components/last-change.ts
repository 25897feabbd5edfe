import { type Inputs, type Outputs, steward } from '../api.ts';

export type ChangeQuery = Required<
  Pick<NonNullable<Exclude<Inputs['audit']['list'], void>>, 'action' | 'target'>
>;
export type LastChange = Pick<Outputs['audit']['list'][number], 'actor' | 'timestamp'>;

/** Who made the last change and when; null if the user may not know. */
export const readLastChange = async (query: ChangeQuery): Promise<LastChange | null> => {
  const entries = await steward.api.audit.list.query({ ...query, limit: 1 }).catch(() => []);
  return entries[0] ?? null;
};
