import createClient from "openapi-fetch";
import type { paths } from "./schema";
import type { Problem } from "./types";

export const api = createClient<paths>({ baseUrl: location.origin });

/** What the server refused, or what kept it from answering; `code` is stable, `message` a sentence. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Give the data of an answer, or throw an `ApiError`. */
export async function ask<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  let got: { data?: T; error?: unknown };
  try {
    got = await answer;
  } catch {
    throw new ApiError("unreachable", "");
  }
  if (got.error !== undefined) {
    const problem = got.error as Partial<Problem>;
    throw new ApiError(problem.code ?? "failed", problem.message ?? "");
  }
  return got.data as T;
}
