/**
 * - `unavailable`: no answer, or one that says that the provider has a fault
 * - `denied`: the provider did not log the person in, for example because they cancelled
 * - `misconfigured`: the provider does not know this service as it is registered, or lacks what is needed
 * - `invalid`: an answer that fails a check, such as one for another service
 */
export type ProviderFailure = 'unavailable' | 'denied' | 'misconfigured' | 'invalid';

/** `reason` is for operators: it has no secret. */
export class ProviderError extends Error {
  readonly failure: ProviderFailure;
  constructor(failure: ProviderFailure, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'ProviderError';
    this.failure = failure;
  }
}
