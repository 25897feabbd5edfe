/** What is read of an RFC 9457 document of Steward's. */
export type ProblemDocument = {
  code: string;
  detail: string;
  status: number;
  fields: Record<string, string[]> | undefined;
};

const TYPE = /^urn:steward:problem:(.+)$/;

/** The problem that a JSON document tells of, or null where it is something else. */
export const problemIn = (document: unknown): ProblemDocument | null => {
  if (typeof document !== 'object' || document === null) return null;
  const { type, detail, status, errors } = document as Record<string, unknown>; // of an object nothing else is known
  const [, code] = TYPE.exec(String(type)) ?? [];
  if (code === undefined || typeof detail !== 'string' || typeof status !== 'number') return null;
  return { code, detail, status, fields: fieldsIn(errors) };
};

const fieldsIn = (errors: unknown): Record<string, string[]> | undefined => {
  if (typeof errors !== 'object' || errors === null) return undefined;
  return Object.fromEntries(
    Object.entries(errors).map(([field, messages]) => [field, [messages].flat().map(String)]),
  );
};
