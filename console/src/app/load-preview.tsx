import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SchemaChanges } from '../data-permissions/schema-changes.tsx';

/** Whom the data permissions of the package that is loaded next would touch, if anyone. */
export const LoadPreview = ({ id }: { id: string }) => {
  const preview = useQuery(trpc.dataPermissions.previewLoad.queryOptions({ app_id: id }, { staleTime: 0 }));
  if (preview.isPending) return <Skeleton height={40} />;
  if (!preview.data) return <ProblemAlert error={preview.error} />;
  return preview.data.touched > 0 && <SchemaChanges changes={preview.data} />;
};
