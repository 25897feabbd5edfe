import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import { FetchProblem } from './fetch-problem.tsx';
import type { usePackageChanges } from './use-package-changes.ts';

type Props = Pick<ReturnType<typeof usePackageChanges>, 'fetch'>;

/** Downloads a version from the package store, for the next load. */
export const FetchForm = ({ fetch }: Props) => {
  const [version, setVersion] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        fetch.mutate({ version: version.trim(), idempotencyKey: newIdempotencyKey() });
      }}
    >
      <Stack>
        <Group align="flex-end">
          <TextInput
            label="Version in the package store"
            placeholder="The highest"
            value={version}
            onChange={({ currentTarget: { value } }) => setVersion(value)}
          />
          <Button type="submit" variant="default" loading={fetch.isPending}>
            Fetch
          </Button>
        </Group>
        <FetchProblem error={fetch.error} onRetry={() => fetch.variables && fetch.mutate(fetch.variables)} />
      </Stack>
    </form>
  );
};
