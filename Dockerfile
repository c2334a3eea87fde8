# The command line in a container: docker build -t autocomp . && docker run --rm -v "$PWD:/work" autocomp search gemm_100x70x30
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels /source

FROM python:3.12-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels pip install --no-cache-dir --no-index --find-links /wheels autocomp
RUN useradd --create-home kernel
USER kernel
WORKDIR /work
ENTRYPOINT ["autocomp"]
CMD ["--help"]
