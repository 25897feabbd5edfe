import { Problem } from '../problems.ts';

/** The reasons of RFC 7644, table 9. */
export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'uniqueness';

/** A request of a directory that cannot be carried out. */
export class ScimProblem extends Problem {
  readonly scimType: ScimType;

  constructor(scimType: ScimType, detail: string) {
    super(scimType === 'uniqueness' ? 'not-unique' : 'invalid-input', { detail });
    this.scimType = scimType;
  }
}
