/** The members of Steward's RFC 9457 documents that the client reads. */
export type ProblemDocument = {
  code: string;
  detail: string;
  status: number;
  fields: Record<string, string[]> | undefined;
};

const TYPE = /^urn:steward:problem:(.+)$/;

/** Null if the document is not a problem of Steward. */
export const parseProblem = (document: unknown): ProblemDocument | null => {
  if (typeof document !== 'object' || document === null) return null;
  const { type, detail, status, errors } = document as Record<string, unknown>; // checked below
  const [, code] = TYPE.exec(String(type)) ?? [];
  if (code === undefined || typeof detail !== 'string' || typeof status !== 'number') return null;
  return { code, detail, status, fields: parseFields(errors) };
};

const parseFields = (errors: unknown): Record<string, string[]> | undefined => {
  if (typeof errors !== 'object' || errors === null) return undefined;
  return Object.fromEntries(
    Object.entries(errors).map(([field, messages]) => [field, [messages].flat().map(String)]),
  );
};
