import type { ImageBody } from "../api/types";

const TYPES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Read the pictures among files; what is none of a known type is left out. */
export async function readImages(files: Iterable<File>): Promise<ImageBody[]> {
  const pictures = [...files].filter((file) => TYPES.includes(file.type));
  return Promise.all(
    pictures.map(async (file) => ({
      mediaType: file.type as ImageBody["mediaType"],
      data: await base64(file),
    })),
  );
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
