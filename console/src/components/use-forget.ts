import { useQueryClient } from '@tanstack/react-query';

/** Before the user leaves the screen of what was removed: other screens read anew, and do not show it once more. */
export const useForget = () => {
  const queryClient = useQueryClient();
  return async (): Promise<void> => {
    queryClient.removeQueries({ type: 'inactive' });
    // What is shown now can be read no more.
    await queryClient.invalidateQueries({ refetchType: 'none' });
  };
};
