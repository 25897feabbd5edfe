import { Alert, Button, Stack, Text } from '@mantine/core';
import { isProblem } from '@steward/client';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RequestId } from '../components/request-id.tsx';

type Props = { error: unknown; onRetry: () => void };

/** Why a package could not be fetched, and what to do about it. Renders nothing without an error. */
export const FetchProblem = ({ error, onRetry }: Props) => {
  if (!isProblem(error, 'invalid-package', 'package-store-unavailable', 'not-found')) {
    return <ProblemAlert error={error} />;
  }
  const { code } = error.data.problem;
  const { title, advice } = ADVICE[code];
  return (
    <Alert color="red" variant="light" role="alert" title={title}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm" className="message">
          {error.message}
        </Text>
        <Text size="sm">{advice}</Text>
        <RequestId error={error} />
        {code === 'package-store-unavailable' && (
          <Button variant="default" size="xs" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
};

const ADVICE = {
  'invalid-package': {
    title: 'The package is invalid',
    advice: 'Nothing was changed. Correct the package and publish it under a new version.',
  },
  'package-store-unavailable': {
    title: 'The package store is unavailable',
    advice: 'Nothing was changed, and loaded apps keep running.',
  },
  'not-found': {
    title: 'No such version',
    advice: 'Publish it first with “steward apps publish”, or leave the version empty for the highest one.',
  },
};
