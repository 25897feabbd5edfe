import { Alert } from '@mantine/core';
import { messageOf } from './screen-error.tsx';

/** Says why an action failed. Renders nothing without an error. */
export const ProblemAlert = ({ error }: { error: unknown }) =>
  error ? (
    <Alert color="red" variant="light" role="alert">
      {messageOf(error)}
    </Alert>
  ) : null;
