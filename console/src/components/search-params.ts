// Reads values from the address. A value of another type counts as none; the service checks the rest.

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

export const idOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) ? value : undefined;

export const oneOf = <T extends string>(value: unknown, allowed: readonly T[]): T | undefined =>
  allowed.find((one) => one === value);

/** A day such as 2026-01-31. */
export const dayOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value))
    ? value
    : undefined;

/** A time in ISO 8601, such as `2026-01-31T12:00:00.000Z`. */
export const timeOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))
    ? value
    : undefined;

/** Query parameters of a REST path, without unset ones. */
export const queryOf = (values: Record<string, string | number | boolean | undefined>): URLSearchParams =>
  new URLSearchParams(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );

/** The client whose list is shown. */
export const clientFilter = ({ client }: Record<string, unknown>): { client?: number | undefined } => ({
  client: idOf(client),
});
