/**
 * - `unavailable`: no answer, or an answer that reports a fault of the provider
 * - `denied`: the provider did not log the person in, for example because they cancelled
 * - `misconfigured`: the provider does not accept the registration of this service, or lacks something required
 * - `invalid`: an answer that fails a check, for example one for another service
 */
export type ProviderFailure = 'unavailable' | 'denied' | 'misconfigured' | 'invalid';

/** `reason` is for operators, and contains no secret. */
export class ProviderError extends Error {
  readonly failure: ProviderFailure;
  constructor(failure: ProviderFailure, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'ProviderError';
    this.failure = failure;
  }
}
