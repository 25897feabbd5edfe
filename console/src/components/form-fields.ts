/** The fields that were changed: others may have been changed by someone else in the meantime. */
export const changed = <T extends object>(values: T, isDirty: (field: keyof T) => boolean): Partial<T> => {
  const dirty: Partial<T> = {};
  for (const field in values) if (isDirty(field)) dirty[field] = values[field];
  return dirty;
};

/** One message for each field, as form libraries take them. */
export const joined = (errors: Record<string, string[]>): Record<string, string> =>
  Object.fromEntries(Object.entries(errors).map(([field, messages]) => [field, messages.join(' ')]));
