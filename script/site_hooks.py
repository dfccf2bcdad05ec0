"""Hooks for mkdocs, so that pages serve both the repository and the site.

Headings get GitHub's names, by which pages link to each other. Links to files outside docs/, which the site lacks,
become plain text with the file's name.
"""
import pathlib
import posixpath
import re
import shutil

LINK = re.compile(r"\[([^\]]+)\]\(([^()\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def slug(text, separator):
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text.strip().lower()))


def on_config(config):
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    return config


def plain(page, match):
    text, link = match.groups()
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link.split("#")[0]))
    if re.match(r"[a-z]+:", link) or link.startswith("#") or path.startswith("docs/"):
        return match.group(0)
    return text if posixpath.basename(path) in text else f"{text} (`{path}`)"


def on_page_markdown(markdown, page, config, files):
    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(lambda match: plain(page.file.src_path, match), part) for part in parts[::2]]
    return "".join(parts)


def on_post_build(config):
    """Adds scripts that Debian's theme has under other names, or lacks: without jQuery there is no search."""
    site = pathlib.Path(config["site_dir"])
    for name in re.findall(r'src="[./]*js/([\w.-]+)"', (site / "index.html").read_text()):
        others = sorted(site.glob(f"js/{name.split('-')[0]}-*"))
        if (site / "js" / name).exists():
            continue
        if others:
            shutil.copy(others[0], site / "js" / name)
        else:
            (site / "js" / name).write_text("")
