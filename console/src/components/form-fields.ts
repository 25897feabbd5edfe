/** The fields of a form, in order, with their labels. */
export type FieldLabels<Field extends string> = readonly (readonly [field: Field, label: string])[];

/** These fields of a record. */
export const pick = <T extends object, F extends keyof T & string>(
  record: T,
  labels: FieldLabels<F>,
): Pick<T, F> => Object.fromEntries(labels.map(([field]) => [field, record[field]])) as Pick<T, F>; // the same fields

export const isSame = (value: unknown, other: unknown): boolean =>
  JSON.stringify(value) === JSON.stringify(other);

/** The fields whose values differ. */
export const changed = <T extends object>(values: T, opened: T): Partial<T> => {
  const changes: Partial<T> = {};
  for (const field in values) if (!isSame(values[field], opened[field])) changes[field] = values[field];
  return changes;
};

/** One message per field, as form libraries expect. */
export const joined = (errors: Record<string, string[]>): Record<string, string> =>
  Object.fromEntries(Object.entries(errors).map(([field, messages]) => [field, messages.join(' ')]));

/** Props of an input that shows its value as text if the user may not change it. */
export const asText = (isReadOnly: boolean) =>
  isReadOnly ? ({ readOnly: true, variant: 'unstyled', placeholder: '–' } as const) : {};

/** Props of an input for a code of an authenticator app, or a recovery code. */
export const CODE_INPUT = { autoComplete: 'one-time-code', spellCheck: false, maxLength: 64 } as const;
