import { EVENT_TYPES } from '../audit/audit-actions.ts';

/** The group of a type: `Access request` for `access_request.approved`. */
const nounOf = (type: string): string => {
  const noun = type.replace(/\..*/, '').replaceAll('_', ' ');
  return noun === 'mfa' ? 'Second factor' : noun.charAt(0).toUpperCase() + noun.slice(1);
};

/** The types for a list of choices, grouped by their nouns. */
export const TYPE_CHOICES = [...Map.groupBy(EVENT_TYPES, nounOf)].map(([group, types]) => ({
  group,
  items: types.map((type) => ({ value: type, label: type })),
}));

/** `All events`, `user.deactivated` or `3 types of events`. */
export const typesText = (types: readonly string[]): string => {
  const [first] = types;
  if (first === undefined) return 'All events';
  return types.length === 1 ? first : `${types.length} types of events`;
};
