/** The result of a check. */
export type Result = {
  status: 'ok' | 'warning' | 'failure';
  /** One line. */
  message: string;
  /** The action for the operator, in one line; null for `ok`. */
  action: string | null;
};

/** One line of `steward doctor`. `check` names the checked part: `database`, `mail`, … */
export type Finding = { check: string } & Result;

export const ok = (message: string): Result => ({ status: 'ok', message, action: null });
/** The service works, but not as well or as safely as it could. */
export const warning = (message: string, action: string): Result => ({ status: 'warning', message, action });
/** The service does not start, or a part of it does not work. */
export const failure = (message: string, action: string): Result => ({ status: 'failure', message, action });

/** A result may be a finding of another check, or false. */
export const findingsOf = (check: string, results: Result | readonly (Result | Finding | false)[]) =>
  [results].flat().flatMap((result): Finding[] => (result ? [{ check, ...result }] : []));
