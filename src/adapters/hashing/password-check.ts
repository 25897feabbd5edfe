/** A supported hash, and the work that verifying a password against it takes. */
export type PasswordCheck = {
  /** Checks of one family do the same kind of work and differ only in its amount. */
  family: string;
  /** Iterations, or 2^cost; 1 in a family of equal cost. */
  units: number;
  /** A rough estimate, on one core of 2026. */
  costMs: number;
  verify(password: string): Promise<boolean>;
};

/** null: not a hash of this format. `tooCostly`: a hash that would make one login too expensive. */
export type ReadHash = PasswordCheck | { tooCostly: string } | null;

export const isCheck = (read: ReadHash): read is PasswordCheck => read !== null && 'verify' in read;
