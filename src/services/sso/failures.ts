import { Problem } from '../../lib/problems.ts';
import type { ProviderError } from '../../lib/provider-error.ts';

/** Why a person cannot log in with a connection, and the message for the person. */
const FAILURES = {
  'provider-unavailable': 'Your identity provider does not answer at the moment. Try again in a few minutes.',
  'provider-denied':
    'Your identity provider did not log you in. You may have cancelled, or have no access there.',
  'provider-misconfigured':
    'The connection to your identity provider is not set up correctly. Ask your administrator to test it.',
  'provider-invalid': 'The answer of your identity provider is not valid, or was meant for another service.',
  'unreadable-secret':
    'The connection to your identity provider must be set up again. Ask your administrator.',
  inactive: 'This connection does not exist or is not active.',
  'state-expired': 'This login has expired. Start again.',
  'other-browser':
    'This login was started in another browser, or your browser keeps no cookies. Start again here.',
  'no-address': 'Your identity provider does not state your email address. Ask your administrator.',
  'unverified-address': 'Your identity provider has not verified your email address.',
  'foreign-address': 'Your email address is not in a domain that your organization has verified here.',
  'foreign-account': 'Your account at the identity provider does not belong to your organization.',
  'lapsed-domain':
    'The proof that your organization owns the domain of your email address has lapsed. Ask your administrator.',
  'unknown-person': 'You have no access yet. Ask your administrator to invite you.',
  'inactive-person': 'Your access has been deactivated. Ask your administrator.',
  'operators-only':
    'This connection is for superusers and staff. Log in with the identity provider of your organization.',
  'second-factor':
    'Your organization requires a second factor. Log in at your identity provider with one, or add one here after a login with your password.',
  'not-your-test': 'This test belongs to another administrator. Log in here, then start the test again.',
} as const;

export type SsoReason = keyof typeof FAILURES;

/** `detail`: replaces the text for the person. */
type Extras = { email?: string; cause?: unknown; detail?: string };

/** What the page about a failed test leads back to. */
type Tested = { id: number; client: number | null; is_active: boolean };

/** A login by single sign-on that failed. */
export class SsoFailure extends Problem {
  readonly reason: SsoReason;
  /** The address that the provider stated; empty if it stated none. */
  readonly email: string;
  /** The connection, if this was its test. */
  tested: Tested | null = null;

  constructor(reason: SsoReason, { email = '', cause, detail = FAILURES[reason] }: Extras = {}) {
    const code = reason === 'provider-unavailable' ? 'provider-unavailable' : 'sso-failed';
    super(code, { detail, cause });
    this.reason = reason;
    this.email = email;
  }
}

/** The failure of a login or a test because of the provider. A test also shows the reason for operators. */
export const failureOf = (error: ProviderError, isForAdmin = false): SsoFailure =>
  new SsoFailure(`provider-${error.failure}`, { cause: error, ...(isForAdmin && { detail: error.message }) });
