import { CloseButton, Group, Stack, Title } from '@mantine/core';
import type { Outputs } from '../api.ts';
import { StatusText } from '../components/status-text.tsx';
import { attemptText, Body, isDelivered } from './attempt.tsx';

type Props = { result: Outputs['webhooks']['test'] | undefined; onClose: () => void };

/** The receiver's answer to a test. Announced to screen readers when it arrives. */
export const TestResult = ({ result, onClose }: Props) => (
  <div role="status">
    {result && (
      <Stack className="card" gap="xs" mb="md">
        <Group justify="space-between">
          <Title order={2} size="h3">
            Test
          </Title>
          <CloseButton aria-label="Close the result of the test" onClick={onClose} />
        </Group>
        <StatusText
          color={isDelivered(result.status) ? 'green' : 'red'}
          label={result.status === null ? attemptText(result) : `Answered ${attemptText(result)}`}
        />
        {result.response !== null && <Body title="Response" text={result.response} />}
      </Stack>
    )}
  </div>
);
