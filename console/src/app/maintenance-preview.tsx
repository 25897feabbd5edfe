import { Skeleton, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { steward } from '../api.ts';
import { HtmlPreview } from '../components/html-preview.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

const TYPING_MS = 200;

/** The page that people would see during maintenance, as the service renders it. */
export const MaintenancePreview = ({ appId, message }: { appId: string; message: string }) => {
  const [settled] = useDebouncedValue(message, TYPING_MS);
  const { data: page, error } = useQuery({
    queryKey: ['preview of maintenance', appId, settled],
    queryFn: () =>
      steward.api.apps.previewMaintenance.mutate({ app_id: appId, maintenance_message: settled }),
    placeholderData: keepPreviousData,
  });
  return (
    <Stack component="section" gap="xs" aria-label="Preview of the page">
      <Text size="sm" c="dimmed">
        The page that people see during maintenance:
      </Text>
      {!page && (error ? <ProblemAlert error={error} /> : <Skeleton height={144} />)}
      {page && (
        <>
          <Text fw={600}>{page.title}</Text>
          <HtmlPreview title="Preview of the message" html={page.html} />
        </>
      )}
    </Stack>
  );
};
